// The two quotients of a report, as tables: the controller divides, the switch looks up.

#ifndef CRN_CONGESTION_P4
#define CRN_CONGESTION_P4

// RDCC, On-Path Congestion Reporting: min(255, floor(255 (Q - B_th) / (Q_max - B_th))). Exact for every Q.
control CongestionDegree(in profile_id_t profile, in depth_t excess, out bit<8> degree) {
    @id(0x01000005) @name(".set_degree")
    action set_degree(@id(1) @name("degree") bit<8> value) {
        degree = value;
    }

    // Filled by the controller: for each profile the ranges of Q - B_th that have degree 1 to 255. No entry: 0.
    @id(0x02000005) @name(".congestion_degree")
    table congestion_degree {
        key = {
            profile : exact @id(1) @name("profile");
            excess : range @id(2) @name("excess");
        }
        actions = { set_degree; @defaultonly NoAction; }
        const default_action = NoAction();
        size = CONGESTION_DEGREE_SIZE;
    }

    apply {
        degree = 0;
        congestion_degree.apply();
    }
}

// RDCC, On-Path Congestion Reporting: the queue's service rate divided by its flows. The quotient is exact
// up to 256 flows, the number of flows is an estimate (bmv2/flow_count.p4).
control FairShare(in profile_id_t profile, in bit<16> flows, out mbit_per_sec_t rate) {
    @id(0x01000006) @name(".set_fair_share")
    action set_fair_share(@id(1) @name("rate") mbit_per_sec_t value) {
        rate = value;
    }

    // Filled by the controller from the profile's service rate. No entry: 0, that is, no suggestion.
    @id(0x02000006) @name(".fair_share")
    table fair_share {
        key = {
            profile : exact @id(1) @name("profile");
            flows : range @id(2) @name("flows");
        }
        actions = { set_fair_share; @defaultonly NoAction; }
        const default_action = NoAction();
        size = FAIR_SHARE_SIZE;
    }

    apply {
        rate = 0;
        fair_share.apply();
    }
}

#endif
