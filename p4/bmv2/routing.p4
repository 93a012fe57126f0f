// Next hop by longest prefix, one of equal paths by a hash of the five-tuple, TTL.

#ifndef CRN_BMV2_ROUTING_P4
#define CRN_BMV2_ROUTING_P4

// Members are next hops, groups are equal paths. Filled by the controller.
@id(0x11000001) @name(".ecmp")
action_selector(HashAlgorithm.crc16, ECMP_MEMBERS, 16) ecmp;

// The hash of a flow: its report's UDP source port, its slots, its path. And its addresses in the form that serves
// both families.
control FlowHash(in headers_t hdr, inout metadata_t meta) {
    apply {
        if (hdr.ipv4.isValid()) {
            meta.src_addr = IPV4_MAPPED ++ hdr.ipv4.src_addr;
            meta.dst_addr = IPV4_MAPPED ++ hdr.ipv4.dst_addr;
            hash(meta.flow_hash, HashAlgorithm.crc32, 32w0,
                { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, meta.protocol, meta.src_port, meta.dst_port },
                64w0x100000000);
        } else {
            meta.src_addr = hdr.ipv6.src_addr;
            meta.dst_addr = hdr.ipv6.dst_addr;
            hash(meta.flow_hash, HashAlgorithm.crc32, 32w0,
                { hdr.ipv6.src_addr, hdr.ipv6.dst_addr, meta.protocol, meta.src_port, meta.dst_port },
                64w0x100000000);
        }
        // A CRC is linear: two switches with the same CRC would always make related choices, and the second
        // would use only some of its paths. The reporter ID and a product make the choice the switch's own.
        meta.ecmp_hash = ((meta.flow_hash ^ (meta.reporter_id * 0x85EBCA6B)) * 0x9E3779B1)[31:16];
    }
}

control Routing(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    @id(0x01000003) @name(".forward")
    action forward(@id(1) port_id_t port, @id(2) bit<48> dst_mac) {
        standard_metadata.egress_spec = port;
        // The frame was sent to this router's address, so that is what it is sent on from.
        hdr.ethernet.src_mac = hdr.ethernet.dst_mac;
        hdr.ethernet.dst_mac = dst_mac;
    }

    // Filled by the controller: a route per host or prefix of the topology.
    @id(0x02000003) @name(".ipv4_route")
    table ipv4_route {
        key = {
            hdr.ipv4.dst_addr : lpm @id(1) @name("dst_addr");
            meta.ecmp_hash : selector;
        }
        actions = { forward; }
        implementation = ecmp;
        size = IPV4_ROUTE_SIZE;
    }

    // The same for IPv6, with the same next hops.
    @id(0x02000008) @name(".ipv6_route")
    table ipv6_route {
        key = {
            hdr.ipv6.dst_addr : lpm @id(1) @name("dst_addr");
            meta.ecmp_hash : selector;
        }
        actions = { forward; }
        implementation = ecmp;
        size = IPV6_ROUTE_SIZE;
    }

    @hidden
    action drop(bit<3> cause) {
        meta.dropped = 1;
        meta.drop_cause = cause;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            if (hdr.ipv4.ttl <= 1) {
                drop(DROP_TTL_EXPIRED);
            } else if (ipv4_route.apply().hit) {
                hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            } else {
                drop(DROP_NO_ROUTE);
            }
        } else if (hdr.ipv6.hop_limit <= 1) {
            drop(DROP_TTL_EXPIRED);
        } else if (ipv6_route.apply().hit) {
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        } else {
            drop(DROP_NO_ROUTE);
        }
    }
}

#endif
