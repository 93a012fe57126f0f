//! A software RoCEv2 reliable-connection transport as a pure state machine.
