//! Packet-level tests that run on softswitch and, where installed, on simple_switch_grpc.
