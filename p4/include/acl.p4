// What the operator doesn't let pass.

#ifndef CRN_ACL_P4
#define CRN_ACL_P4

// `denied` is 0 before.
control Acl(in address_t src_addr, in address_t dst_addr, in bit<8> protocol, in bit<16> src_port, in bit<16> dst_port,
            inout bit<1> denied) {
    @id(0x01000008) @name(".deny")
    action deny() {
        denied = 1;
    }

    // An exception from a wider `deny` of lower priority.
    @id(0x01000009) @name(".permit")
    action permit() {
        denied = 0;
    }

    // Filled by the controller from `acl`. IPv4 addresses in the mapped form. Packets without ports have ports 0.
    @id(0x02000009) @name(".acl")
    table acl {
        key = {
            src_addr : ternary @id(1) @name("src_addr");
            dst_addr : ternary @id(2) @name("dst_addr");
            protocol : ternary @id(3) @name("protocol");
            src_port : ternary @id(4) @name("src_port");
            dst_port : ternary @id(5) @name("dst_port");
        }
        actions = { deny; permit; @defaultonly NoAction; }
        const default_action = NoAction();
        size = ACL_SIZE;
    }

    apply {
        acl.apply();
    }
}

#endif
