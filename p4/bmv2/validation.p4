// Packets that no router should forward, with the cause that they are counted under.

#ifndef CRN_BMV2_VALIDATION_P4
#define CRN_BMV2_VALIDATION_P4

// Multicast, and with it neighbour discovery and DHCP, is left to the hosts before its source is looked at: they ask from
// addresses that aren't theirs yet.
control Validation(in headers_t hdr, inout metadata_t meta, in standard_metadata_t standard_metadata) {
    @hidden
    action drop(bit<3> cause) {
        meta.dropped = 1;
        meta.drop_cause = cause;
    }

    apply {
        if (standard_metadata.parser_error != error.NoError) {
            drop(DROP_CORRUPTION);
        } else if (meta.ip_octets + meta.link_octets > standard_metadata.packet_length) {
            drop(DROP_CORRUPTION);
        } else if (hdr.ipv6.isValid()) {
            if (hdr.ipv6.version != 6) {
                drop(DROP_CORRUPTION);
            } else if (hdr.ipv6.dst_addr[127:121] == IPV6_NOT_ROUTED) {
                drop(DROP_NOT_ROUTED);
            } else if (hdr.ipv6.src_addr[127:120] == IPV6_MULTICAST || hdr.ipv6.src_addr[127:1] == IPV6_UNSPECIFIED) {
                drop(DROP_CORRUPTION);
            } else if (hdr.ipv6.src_addr[127:121] == IPV6_NOT_ROUTED) {
                // RFC 4291, section 2.5.6.
                drop(DROP_NOT_ROUTED);
            }
        } else if (!hdr.ipv4.isValid()) {
            // ARP and the like are left to the hosts.
            drop(DROP_NOT_ROUTED);
        } else if (standard_metadata.checksum_error == 1 || hdr.ipv4.version != 4 || hdr.ipv4.ihl < 5
                   || hdr.ipv4.total_length < IPV4_OCTETS) {
            drop(DROP_CORRUPTION);
        } else if (hdr.ipv4.ihl > 5) {
            // IPv4 options: this switch doesn't process them.
            drop(DROP_POLICY);
        } else if (hdr.ipv4.dst_addr[31:29] == IPV4_NOT_ROUTED) {
            // Multicast, broadcast, reserved.
            drop(DROP_NOT_ROUTED);
        } else if (hdr.ipv4.src_addr[31:29] == IPV4_NOT_ROUTED || hdr.ipv4.src_addr[31:24] == IPV4_THIS_NETWORK
                   || hdr.ipv4.src_addr[31:24] == IPV4_LOOPBACK) {
            drop(DROP_CORRUPTION);
        }
        if (meta.dropped == 0 && hdr.ethernet.dst_mac[40:40] == MAC_GROUP) {
            // RFC 1812, section 5.3.4: a unicast packet that came to a group of stations. Each router among them would send
            // it on, from the group's address.
            drop(DROP_NOT_ROUTED);
        }
    }
}

#endif
