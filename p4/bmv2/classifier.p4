// Whether the port is trusted; DSCP to role and queue, if it is. The domain's boundary is kept here.

#ifndef CRN_BMV2_CLASSIFIER_P4
#define CRN_BMV2_CLASSIFIER_P4

// Before anything that believes the packet: who sent it, and from where.
control Origin(inout metadata_t meta, in standard_metadata_t standard_metadata) {
    SourceCheck() source_check;
    PortTrust() port_trust;

    apply {
        source_check.apply(standard_metadata.ingress_port, meta.src_addr, meta.source_invalid);
        port_trust.apply(standard_metadata.ingress_port, meta.dscp_trusted, meta.control_trusted);
        if (meta.dscp_trusted == 0 && meta.control_trusted == 0) {
            // CREM, Security: reports only to sources inside the domain.
            meta.source_invalid = 1;
        }
    }
}

control Classifier(inout headers_t hdr, inout metadata_t meta) {
    DscpMap() dscp_map;
    bit<1> mapped;
    bit<16> udp_port;

    apply {
        if (meta.is_report == 1) {
            // Recognised by its recirculation, never by its DSCP: nobody outside can forge this.
            meta.role = ROLE_CONTROL;
            meta.queue = CONTROL_QUEUE;
        } else {
            dscp_map.apply(meta.dscp, meta.traffic_class, meta.role, meta.queue, mapped);
            if (meta.dscp_trusted == 0 && mapped == 1) {
                // The DSCP would mean something to the next switch too, which trusts this one.
                if (hdr.ipv4.isValid()) {
                    hdr.ipv4.dscp = 0;
                } else {
                    hdr.ipv6.dscp = 0;
                }
                meta.traffic_class = 0;
                meta.role = ROLE_NONE;
                meta.queue = DATA_QUEUE;
            }
            udp_port = 0;
            if (hdr.udp.isValid()) {
                udp_port = hdr.udp.dst_port;
            } else if (hdr.fragment_udp.isValid()) {
                udp_port = hdr.fragment_udp.dst_port;
            }
            // A port of 0 is one that isn't configured.
            if (udp_port != 0
                && (udp_port == meta.rdcc_port || udp_port == meta.crem_port || udp_port == meta.scone_port)) {
                // Whatever its DSCP and its octets say: no report is made about it, and nothing written into it.
                meta.to_control_port = 1;
                meta.is_data = 0;
            }
            // From outside, or from a source that can't be where it comes from: endpoints believe reports by their source.
            // What hides its port behind extension headers can't enter: the host would find it.
            if ((meta.control_trusted == 0 || meta.source_invalid == 1) && meta.has_reporter == 1
                && (meta.hides_upper_layer == 1 || meta.to_control_port == 1)) {
                meta.dropped = 1;
                meta.drop_cause = DROP_POLICY;
            }
        }
    }
}

#endif
