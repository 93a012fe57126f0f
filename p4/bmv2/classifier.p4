// DSCP to role and queue, if the port is trusted. The domain's boundary is kept here.

#ifndef CRN_BMV2_CLASSIFIER_P4
#define CRN_BMV2_CLASSIFIER_P4

control Classifier(inout headers_t hdr, inout metadata_t meta, in standard_metadata_t standard_metadata) {
    PortTrust() port_trust;
    DscpMap() dscp_map;
    bit<1> dscp_trusted;
    bit<1> control_trusted;
    bit<1> mapped;
    bit<16> udp_port;

    apply {
        if (meta.is_report == 1) {
            // Recognised by its recirculation, never by its DSCP: nobody outside can forge this.
            meta.role = ROLE_CONTROL;
            meta.queue = CONTROL_QUEUE;
        } else {
            dscp_map.apply(meta.dscp, meta.traffic_class, meta.role, meta.queue, mapped);
            port_trust.apply(standard_metadata.ingress_port, dscp_trusted, control_trusted);
            if (dscp_trusted == 0 && control_trusted == 0) {
                // CREM, Security: reports only to sources inside the domain.
                meta.source_invalid = 1;
            }
            if (dscp_trusted == 0 && mapped == 1) {
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
            // A port of 0 is one that isn't configured. What hides its port behind extension headers can't enter: the host
            // would find it.
            if (control_trusted == 0 && meta.has_reporter == 1
                && (meta.hides_upper_layer == 1 || udp_port != 0
                    && (udp_port == meta.rdcc_port || udp_port == meta.crem_port || udp_port == meta.scone_port))) {
                meta.dropped = 1;
                meta.drop_cause = DROP_POLICY;
            }
        }
    }
}

#endif
