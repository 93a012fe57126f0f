// Packets that no router should forward, with the cause that they are counted under: bmv2/validation.p4 as two tables of
// constant entries, since a chain of conditions would take a stage each.

#ifndef CRN_TOFINO_VALIDATION_P4
#define CRN_TOFINO_VALIDATION_P4

control Validation(in headers_t hdr, inout ingress_metadata_t meta) {
    @hidden
    action refuse(bit<3> cause) {
        meta.is_invalid = 1;
        meta.invalid_cause = cause;
    }

    @hidden
    table valid_ipv4 {
        key = {
            meta.checksum_error : ternary;
            hdr.ipv4.version : ternary;
            hdr.ipv4.ihl : ternary;
            hdr.ipv4.total_length : ternary;
            hdr.ipv4.ttl : ternary;
            hdr.ipv4.src_addr : ternary;
            hdr.ipv4.dst_addr : ternary;
            hdr.ethernet.dst_mac[40:40] : ternary;
        }
        actions = { refuse; NoAction; }
        const default_action = NoAction();
        const entries = {
            (_, 4w0 &&& 4w0x4, _, _, _, _, _, _) : refuse(DROP_CORRUPTION);
            (_, 4w0x8 &&& 4w0x8, _, _, _, _, _, _) : refuse(DROP_CORRUPTION);
            (_, 4w0x2 &&& 4w0x2, _, _, _, _, _, _) : refuse(DROP_CORRUPTION);
            (_, 4w0x1 &&& 4w0x1, _, _, _, _, _, _) : refuse(DROP_CORRUPTION);
            (_, _, 4w0 &&& 4w0xC, _, _, _, _, _) : refuse(DROP_CORRUPTION);
            (_, _, 4w4, _, _, _, _, _) : refuse(DROP_CORRUPTION);
            (_, _, 4w5 &&& 4w0, 16w0 &&& 16w0xFFF0, _, _, _, _) : refuse(DROP_CORRUPTION);
            (_, _, _, 16w0x10 &&& 16w0xFFFC, _, _, _, _) : refuse(DROP_CORRUPTION);
            // A header with options: its checksum isn't looked at.
            (true, _, 4w5, _, _, _, _, _) : refuse(DROP_CORRUPTION);
            (_, _, 4w8 &&& 4w8, _, _, _, _, _) : refuse(DROP_POLICY);
            (_, _, 4w6 &&& 4w6, _, _, _, _, _) : refuse(DROP_POLICY);
            (_, _, _, _, _, _, 32w0xE0000000 &&& 32w0xE0000000, _) : refuse(DROP_NOT_ROUTED);
            (_, _, _, _, _, 32w0xE0000000 &&& 32w0xE0000000, _, _) : refuse(DROP_CORRUPTION);
            (_, _, _, _, _, 32w0x00000000 &&& 32w0xFF000000, _, _) : refuse(DROP_CORRUPTION);
            (_, _, _, _, _, 32w0x7F000000 &&& 32w0xFF000000, _, _) : refuse(DROP_CORRUPTION);
            (_, _, _, _, _, _, _, 1w1) : refuse(DROP_NOT_ROUTED);
            (_, _, _, _, 8w0 &&& 8w0xFE, _, _, _) : refuse(DROP_TTL_EXPIRED);
        }
    }

#ifdef WITH_IPV6
    @hidden
    table valid_ipv6 {
        key = {
            hdr.ipv6.version : ternary;
            hdr.ipv6.hop_limit : ternary;
            hdr.ipv6.src_addr : ternary;
            hdr.ipv6.dst_addr : ternary;
            hdr.ethernet.dst_mac[40:40] : ternary;
        }
        actions = { refuse; NoAction; }
        const default_action = NoAction();
        const entries = {
            (4w0 &&& 4w0x4, _, _, _, _) : refuse(DROP_CORRUPTION);
            (4w0 &&& 4w0x2, _, _, _, _) : refuse(DROP_CORRUPTION);
            (4w0x8 &&& 4w0x8, _, _, _, _) : refuse(DROP_CORRUPTION);
            (4w0x1 &&& 4w0x1, _, _, _, _) : refuse(DROP_CORRUPTION);
            (_, _, _, 128w0xFE000000000000000000000000000000 &&& 128w0xFE000000000000000000000000000000, _)
                : refuse(DROP_NOT_ROUTED);
            (_, _, 128w0xFF000000000000000000000000000000 &&& 128w0xFF000000000000000000000000000000, _, _)
                : refuse(DROP_CORRUPTION);
            (_, _, 128w0 &&& 128w0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFE, _, _) : refuse(DROP_CORRUPTION);
            (_, _, 128w0xFE000000000000000000000000000000 &&& 128w0xFE000000000000000000000000000000, _, _)
                : refuse(DROP_NOT_ROUTED);
            (_, _, _, _, 1w1) : refuse(DROP_NOT_ROUTED);
            (_, 8w0 &&& 8w0xFE, _, _, _) : refuse(DROP_TTL_EXPIRED);
        }
    }
#endif

    apply {
        meta.is_invalid = 0;
        meta.invalid_cause = DROP_UNKNOWN;
        if (hdr.ipv4.isValid()) {
            valid_ipv4.apply();
        }
#ifdef WITH_IPV6
        else if (hdr.ipv6.isValid()) {
            valid_ipv6.apply();
        }
#endif
        else {
            // ARP and the like are left to the hosts.
            refuse(DROP_NOT_ROUTED);
        }
    }
}

#endif
