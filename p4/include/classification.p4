// What a packet is, by its DSCP and by the port it came through.

#ifndef CRN_CLASSIFICATION_P4
#define CRN_CLASSIFICATION_P4

// Which ports lie inside the domain. A port without an entry lies outside: no DSCP role is believed
// there, and no datagram to a control port may enter.
control PortTrust(in port_id_t ingress_port, out bit<1> dscp_trusted, out bit<1> control_trusted) {
    @id(0x01000002) @name(".set_trust")
    action set_trust(@id(1) @name("dscp") bit<1> believe_dscp, @id(2) @name("control") bit<1> admit_control) {
        dscp_trusted = believe_dscp;
        control_trusted = admit_control;
    }

    // Filled by the controller from the topology: one entry per port, links and hosts of the domain trusted.
    @id(0x02000002) @name(".port_trust")
    table port_trust {
        key = { ingress_port : exact @id(1) @name("ingress_port"); }
        actions = { set_trust; @defaultonly NoAction; }
        const default_action = NoAction();
        size = PORT_TRUST_SIZE;
    }

    apply {
        dscp_trusted = 0;
        control_trusted = 0;
        port_trust.apply();
    }
}

// Traffic class, role and queue of a DSCP. A DSCP without an entry: role none, data queue.
control DscpMap(in bit<6> dscp, out bit<3> traffic_class, out role_t role, out queue_id_t queue, out bit<1> mapped) {
    @id(0x01000001) @name(".set_class")
    action set_class(@id(1) @name("traffic_class") bit<3> class, @id(2) @name("role") role_t class_role,
                     @id(3) @name("queue") queue_id_t class_queue) {
        traffic_class = class;
        role = class_role;
        queue = class_queue;
        mapped = 1;
    }

    // Filled by the controller from `domain.dscp`; the same on all switches of the domain.
    @id(0x02000001) @name(".dscp_map")
    table dscp_map {
        key = { dscp : exact @id(1) @name("dscp"); }
        actions = { set_class; @defaultonly NoAction; }
        const default_action = NoAction();
        size = DSCP_MAP_SIZE;
    }

    apply {
        traffic_class = 0;
        role = ROLE_NONE;
        queue = DATA_QUEUE;
        mapped = 0;
        dscp_map.apply();
    }
}

#endif
