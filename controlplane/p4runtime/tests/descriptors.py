"""Writes the descriptors of PyPI's `p4runtime` package to standard output, as a serialised FileDescriptorSet."""

import sys

from google.protobuf import descriptor_pb2
from google.rpc import status_pb2
from p4.config.v1 import p4info_pb2, p4types_pb2
from p4.v1 import p4data_pb2, p4runtime_pb2

found = descriptor_pb2.FileDescriptorSet()
for module in (status_pb2, p4types_pb2, p4info_pb2, p4data_pb2, p4runtime_pb2):
    module.DESCRIPTOR.CopyToProto(found.file.add())
sys.stdout.buffer.write(found.SerializeToString())
