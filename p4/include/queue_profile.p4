// The thresholds of an egress queue.

#ifndef CRN_QUEUE_PROFILE_P4
#define CRN_QUEUE_PROFILE_P4

control QueueProfile(in port_id_t egress_port, in queue_id_t queue, out bit<1> has_profile, out profile_id_t profile,
                     out depth_t b_th, out depth_t q_max, out depth_t ecn_threshold, out micros_t report_interval) {
    @id(0x01000004) @name(".set_profile")
    action set_profile(@id(1) @name("profile") profile_id_t profile_id, @id(2) @name("b_th") depth_t b_th_value,
                       @id(3) @name("q_max") depth_t q_max_value,
                       @id(4) @name("ecn_threshold") depth_t ecn_threshold_value,
                       @id(5) @name("report_interval") micros_t report_interval_micros) {
        has_profile = 1;
        profile = profile_id;
        b_th = b_th_value;
        q_max = q_max_value;
        ecn_threshold = ecn_threshold_value;
        report_interval = report_interval_micros;
    }

    // Filled by the controller from `profiles`: one entry per port and queue. A queue without an entry is
    // neither measured nor limited, and nothing is reported about it. `ecn_threshold` 0: no marking.
    @id(0x02000004) @name(".queue_profile")
    table queue_profile {
        key = {
            egress_port : exact @id(1) @name("egress_port");
            queue : exact @id(2) @name("queue");
        }
        actions = { set_profile; @defaultonly NoAction; }
        const default_action = NoAction();
        size = QUEUE_PROFILE_SIZE;
    }

    apply {
        has_profile = 0;
        profile = 0;
        b_th = 0;
        q_max = 0;
        ecn_threshold = 0;
        report_interval = 0;
        queue_profile.apply();
    }
}

#endif
