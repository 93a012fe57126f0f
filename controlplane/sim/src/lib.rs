//! A fabric in virtual time: softswitch, endpoints and links.
