// Packets that no router should forward, with the cause that they are counted under.

#ifndef CRN_BMV2_VALIDATION_P4
#define CRN_BMV2_VALIDATION_P4

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
            } else if (hdr.ipv6.dst_addr[127:121] == IPV6_NOT_ROUTED || hdr.ipv6.src_addr[127:121] == IPV6_NOT_ROUTED) {
                // Multicast, neighbour discovery with it, and what may not leave its link (RFC 4291, section 2.5.6).
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
        }
    }
}

#endif
