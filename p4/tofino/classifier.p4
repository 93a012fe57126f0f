// Who sent a packet and from where, what its DSCP means, whether it may enter, and what may be said about it.

#ifndef CRN_TOFINO_CLASSIFIER_P4
#define CRN_TOFINO_CLASSIFIER_P4

// The addresses in the form that serves both families, and the hash of the flow.
control FlowHash(in headers_t hdr, inout ingress_metadata_t meta) {
    Hash<bit<32>>(HashAlgorithm_t.CRC32) ipv4_flow;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) ipv6_flow;

    @hidden
    action take_ipv4() {
        meta.src_addr = IPV4_MAPPED ++ hdr.ipv4.src_addr;
        meta.dst_addr = IPV4_MAPPED ++ hdr.ipv4.dst_addr;
    }

    @hidden
    action hash_ipv4() {
        meta.flow_hash = ipv4_flow.get({ hdr.ipv4.src_addr, hdr.ipv4.dst_addr, meta.protocol, meta.src_port,
                                         meta.dst_port });
    }

#ifdef WITH_IPV6
    @hidden
    action take_ipv6() {
        meta.src_addr = hdr.ipv6.src_addr;
        meta.dst_addr = hdr.ipv6.dst_addr;
    }

    @hidden
    action hash_ipv6() {
        meta.flow_hash = ipv6_flow.get({ hdr.ipv6.src_addr, hdr.ipv6.dst_addr, meta.protocol, meta.src_port,
                                         meta.dst_port });
    }
#endif

    apply {
        if (hdr.ipv4.isValid()) {
            take_ipv4();
            hash_ipv4();
        }
#ifdef WITH_IPV6
        else if (hdr.ipv6.isValid()) {
            take_ipv6();
            hash_ipv6();
        }
#endif
    }
}

// Before anything that believes the packet.
control Origin(inout ingress_metadata_t meta, in port_id_t ingress_port) {
#ifdef WITH_SOURCE_CHECK
    SourceCheck() source_check;
#endif
    PortTrust() port_trust;

    apply {
        meta.source_invalid = 0;
        port_trust.apply(ingress_port, meta.dscp_trusted, meta.control_trusted);
#ifdef WITH_SOURCE_CHECK
        source_check.apply(ingress_port, meta.src_addr, meta.source_invalid);
#endif
        if (meta.dscp_trusted == 0 && meta.control_trusted == 0) {
            // CREM, Security: reports only to sources inside the domain.
            meta.source_invalid = 1;
        }
    }
}

control Classifier(inout headers_t hdr, inout ingress_metadata_t meta) {
    DscpMap() dscp_map;
#ifdef WITH_ROCE
    RoceData() roce_data;
#endif

    @hidden
    action differ() {
        meta.rdcc_difference = meta.udp_port ^ meta.rdcc_port;
        meta.crem_difference = meta.udp_port ^ meta.crem_port;
        meta.scone_difference = meta.udp_port ^ meta.scone_port;
    }

    @hidden
    action is_control_port() {
        meta.to_control_port = 1;
    }

    @hidden
    action is_another_port() {
        meta.to_control_port = 0;
    }

    // Without UDP the port is 0, and a port of 0 is one that isn't configured.
    @hidden
    table control_port {
        key = {
            meta.udp_port : ternary;
            meta.rdcc_difference : ternary;
            meta.crem_difference : ternary;
            meta.scone_difference : ternary;
        }
        actions = { is_control_port; is_another_port; }
        const default_action = is_another_port();
        const entries = {
            (16w0, _, _, _) : is_another_port();
            (_, 16w0, _, _) : is_control_port();
            (_, _, 16w0, _) : is_control_port();
            (_, _, _, 16w0) : is_control_port();
        }
    }

    @hidden
    action lacks_address() {
        meta.no_address = 1;
    }

    @hidden
    action has_address() {
        meta.no_address = 0;
    }

    @hidden
    table without_address {
        key = {
            hdr.ipv4.isValid() : ternary;
            meta.reporter_ipv4 : ternary;
#ifdef WITH_IPV6
            meta.reporter_ipv6 : ternary;
#endif
        }
        actions = { lacks_address; has_address; }
        const default_action = has_address();
        const entries = {
#ifdef WITH_IPV6
            (true, 32w0, _) : lacks_address();
            (false, _, 128w0) : lacks_address();
#else
            (true, 32w0) : lacks_address();
#endif
        }
    }

    // The DSCP would mean something to the next switch too, which trusts this one.
    @hidden
    action reset_ipv4() {
        meta.traffic_class = 0;
        meta.role = ROLE_NONE;
        meta.queue = DATA_QUEUE;
        hdr.ipv4.dscp = 0;
    }

#ifdef WITH_IPV6
    @hidden
    action reset_ipv6() {
        meta.traffic_class = 0;
        meta.role = ROLE_NONE;
        meta.queue = DATA_QUEUE;
        hdr.ipv6.dscp = 0;
    }
#endif

    @hidden
    action refuse() {
        meta.at_boundary = 1;
    }

    // From outside, or from a source that can't be where it comes from: endpoints believe reports by their source. What
    // hides its port behind extension headers can't enter: the host would find it.
    @hidden
    table boundary {
        key = {
            meta.has_reporter : exact;
            meta.control_trusted : ternary;
            meta.source_invalid : ternary;
            meta.hides_upper_layer : ternary;
            meta.to_control_port : ternary;
        }
        actions = { refuse; NoAction; }
        const default_action = NoAction();
        const entries = {
            (1, 0, _, 1, _) : refuse();
            (1, 0, _, _, 1) : refuse();
            (1, _, 1, 1, _) : refuse();
            (1, _, 1, _, 1) : refuse();
        }
    }

    apply {
        dscp_map.apply(meta.dscp, meta.traffic_class, meta.role, meta.queue, meta.mapped);
        without_address.apply();
        differ();
        control_port.apply();
#ifdef WITH_ROCE
        meta.is_data = 0;
        roce_data.apply(hdr.bth, meta.is_data);
#endif
        if (meta.dscp_trusted == 0 && meta.mapped == 1) {
            if (hdr.ipv4.isValid()) {
                reset_ipv4();
            }
#ifdef WITH_IPV6
            else {
                reset_ipv6();
            }
#endif
        }
        meta.at_boundary = 0;
        boundary.apply();
    }
}

// Whether a congested queue, a drop or a rate is a reason to say something about this packet: for each kind the first cause that
// speaks against it, as the v1model program finds it by its conditions. Constant tables, because each of these is a stage less than
// the conditions would be.
control Candidates(inout headers_t hdr, inout ingress_metadata_t meta) {
    @hidden
    action congestion(candidate_t value) {
        hdr.bridged.congestion_candidate = value;
    }

    @hidden
    table congestion_candidate {
        key = {
            meta.rdcc_port : ternary;
            meta.to_control_port : ternary;
            meta.role : ternary;
            meta.tunnelled : ternary;
            meta.is_udp : ternary;
            meta.source_invalid : ternary;
            meta.no_address : ternary;
        }
        actions = { congestion; }
        const default_action = congestion(CANDIDATE_REPORT);
        const entries = {
            (16w0, _, _, _, _, _, _) : congestion(CANDIDATE_NONE);
            (_, 1, _, _, _, _, _) : congestion(CANDIDATE_NONE);
            (_, _, ROLE_NONE, _, _, _, _) : congestion(CANDIDATE_NONE);
            (_, _, ROLE_CONTROL, _, _, _, _) : congestion(CANDIDATE_NONE);
            (_, _, _, 1, _, _, _)
                : congestion(CANDIDATE_SUPPRESSED | ((candidate_t) SUPPRESSED_TUNNELLED << 12));
            (_, _, _, _, 0, _, _)
                : congestion(CANDIDATE_SUPPRESSED | ((candidate_t) SUPPRESSED_NOT_UDP << 12));
            (_, _, ROLE_UNSCHEDULED, _, _, 1, _)
                : congestion(CANDIDATE_SUPPRESSED | ((candidate_t) SUPPRESSED_SOURCE_INVALID << 12));
            (_, _, _, _, _, _, 1)
                : congestion(CANDIDATE_SUPPRESSED | ((candidate_t) SUPPRESSED_NO_ADDRESS << 12));
        }
    }

#ifdef WITH_PATH_REPORT
    @hidden
    action path(candidate_t value) {
        hdr.bridged.path_candidate = value;
    }

    @hidden
    table path_candidate {
        key = {
            meta.crem_port : ternary;
            meta.to_control_port : ternary;
            meta.role : ternary;
            meta.tunnelled : ternary;
            meta.is_data : ternary;
            meta.source_invalid : ternary;
            meta.no_address : ternary;
        }
        actions = { path; }
        const default_action = path(CANDIDATE_REPORT);
        const entries = {
            (16w0, _, _, _, _, _, _) : path(CANDIDATE_NONE);
            (_, 1, _, _, _, _, _) : path(CANDIDATE_NONE);
            (_, _, ROLE_CONTROL, _, _, _, _) : path(CANDIDATE_NONE);
            // Whether that is RoCEv2 isn't known: only data of a role is counted.
            (_, _, ROLE_NONE, 1, _, _, _) : path(CANDIDATE_NONE);
            (_, _, _, 1, _, _, _) : path(CANDIDATE_SUPPRESSED | ((candidate_t) SUPPRESSED_TUNNELLED << 12));
            (_, _, _, _, 0, _, _) : path(CANDIDATE_NONE);
            (_, _, _, _, _, 1, _) : path(CANDIDATE_SUPPRESSED | ((candidate_t) SUPPRESSED_SOURCE_INVALID << 12));
            (_, _, _, _, _, _, 1) : path(CANDIDATE_SUPPRESSED | ((candidate_t) SUPPRESSED_NO_ADDRESS << 12));
        }
    }
#endif

#ifdef WITH_RATE_ADVICE
    @hidden
    action advice(candidate_t value) {
        hdr.bridged.advice_candidate = value;
    }

    @hidden
    table advice_candidate {
        key = {
            meta.scone_port : ternary;
            meta.to_control_port : ternary;
            meta.role : ternary;
            meta.is_data : ternary;
            meta.source_invalid : ternary;
            meta.no_address : ternary;
        }
        actions = { advice; }
        const default_action = advice(CANDIDATE_REPORT);
        const entries = {
            (16w0, _, _, _, _, _) : advice(CANDIDATE_NONE);
            (_, 1, _, _, _, _) : advice(CANDIDATE_NONE);
            (_, _, ROLE_CONTROL, _, _, _) : advice(CANDIDATE_NONE);
            (_, _, _, 0, _, _) : advice(CANDIDATE_NONE);
            (_, _, _, _, 1, _) : advice(CANDIDATE_SUPPRESSED | ((candidate_t) SUPPRESSED_SOURCE_INVALID << 12));
            (_, _, _, _, _, 1) : advice(CANDIDATE_SUPPRESSED | ((candidate_t) SUPPRESSED_NO_ADDRESS << 12));
        }
    }
#endif

#ifdef WITH_RATE_SIGNAL
    @hidden
    action carries_signal() {
        hdr.bridged.carries_signal = 1;
    }

    @hidden
    action carries_none() {
        hdr.bridged.carries_signal = 0;
    }

    @hidden
    table signal_candidate {
        key = {
            meta.signalled : exact;
            meta.is_data : exact;
            meta.to_control_port : exact;
            meta.role : ternary;
        }
        actions = { carries_signal; carries_none; }
        const default_action = carries_none();
        const entries = {
            (1, 1, 0, ROLE_CONTROL) : carries_none();
            (1, 1, 0, _) : carries_signal();
        }
    }
#endif

    apply {
        congestion_candidate.apply();
#ifdef WITH_PATH_REPORT
        path_candidate.apply();
#endif
#ifdef WITH_RATE_ADVICE
        advice_candidate.apply();
#endif
#ifdef WITH_RATE_SIGNAL
        signal_candidate.apply();
#endif
    }
}

#endif
