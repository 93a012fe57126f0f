// Next hop by longest prefix, one of equal paths by a hash of the five-tuple, TTL.

#ifndef CRN_TOFINO_ROUTING_P4
#define CRN_TOFINO_ROUTING_P4

control Routing(inout headers_t hdr, inout ingress_metadata_t meta) {
    // Members are next hops, groups are equal paths. Filled by the controller. A switch's own choice among them comes from its
    // reporter ID, which the selector's hash takes in.
    @id(0x11000001) @name(".ecmp")
    ActionProfile(ECMP_MEMBERS) ecmp;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) ecmp_hash;
    @name(".ecmp_selector")
    ActionSelector(ecmp, ecmp_hash, SelectorMode_t.FAIR, ECMP_GROUP_SIZE, ECMP_GROUPS) ecmp_selector;

    @id(0x01000003) @name(".forward")
    action forward(@id(1) port_id_t port, @id(2) bit<48> dst_mac) {
        meta.egress_port = port;
        meta.routed = 1;
        // The frame was sent to this router's address, so that is what it is sent on from.
        hdr.ethernet.src_mac = hdr.ethernet.dst_mac;
        hdr.ethernet.dst_mac = dst_mac;
    }

    // Filled by the controller: a route per host or prefix of the topology.
    @id(0x02000003) @name(".ipv4_route")
    table ipv4_route {
        key = {
            hdr.ipv4.dst_addr : lpm @id(1) @name("dst_addr");
            meta.flow_hash : selector;
            meta.reporter_id : selector;
        }
        actions = { forward; }
        implementation = ecmp_selector;
        size = IPV4_ROUTE_SIZE;
    }

#ifdef WITH_IPV6
    // The same for IPv6, with the same next hops.
    @id(0x02000008) @name(".ipv6_route")
    table ipv6_route {
        key = {
            hdr.ipv6.dst_addr : lpm @id(1) @name("dst_addr");
            meta.flow_hash : selector;
            meta.reporter_id : selector;
        }
        actions = { forward; }
        implementation = ecmp_selector;
        size = IPV6_ROUTE_SIZE;
    }
#endif

    apply {
        meta.routed = 0;
        if (hdr.ipv4.isValid()) {
            ipv4_route.apply();
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        }
#ifdef WITH_IPV6
        else if (hdr.ipv6.isValid()) {
            ipv6_route.apply();
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        }
#endif
    }
}

#endif
