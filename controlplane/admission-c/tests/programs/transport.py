"""The library from Python by ctypes: a transport's good and bad days."""

import ctypes
import os
import sys
from ctypes import POINTER, byref, c_int32, c_uint8, c_uint32, c_uint64, c_void_p


class Config(ctypes.Structure):
    _fields_ = [
        ("mode", c_uint32),
        ("target_drain_us", c_uint32),
        ("min_window", c_uint64),
        ("max_window", c_uint64),
        ("high_pressure_epochs", c_uint32),
        ("low_pressure_epochs", c_uint32),
        ("hard_error_threshold", c_uint32),
        ("reserved", c_uint32),
        ("cooldown_ns", c_uint64),
        ("probe_window", c_uint64),
    ]


class Observation(ctypes.Structure):
    _fields_ = [
        *[(name, c_uint32) for name in ("has", "reason", "scope", "attempt")],
        *[(name, c_uint32) for name in ("generation", "vendor_err", "status", "reserved")],
        *[(name, c_uint64) for name in ("path", "at_ns", "window", "in_flight", "cooldown_ns")],
    ]


class Detail(ctypes.Structure):
    _fields_ = [("state", c_uint32), ("resolved", c_uint32), ("observation", Observation)]


class Snapshot(ctypes.Structure):
    _fields_ = [
        *[(name, c_uint32) for name in ("state", "generation")],
        *[(name, c_uint64) for name in ("window", "in_flight", "completed", "cooldown_ns")],
        *[(name, c_uint32) for name in ("errors", "suppressed", "deferred", "avoided")],
    ]


ADMIT, DEFER, AVOID = 0, 1, 2
HANDLE, CONFIG = -2, -4
NORMAL, UNKNOWN, CONGESTED, LONG_UNAVAILABLE = 0, 1, 2, 3


def load(path):
    library = ctypes.CDLL(path)
    arguments = {
        "adm_built": [],
        "adm_config_from_environment": [POINTER(Config)],
        "adm_controller_new": [POINTER(Config), c_void_p, POINTER(c_void_p)],
        "adm_device_open": [c_void_p, POINTER(c_uint8), ctypes.c_size_t, c_uint64, POINTER(c_uint64)],
        "adm_route_open": [c_void_p, c_uint64, c_uint8, c_uint64, c_uint64, POINTER(c_uint64), POINTER(c_uint32)],
        "adm_try_acquire": [c_void_p, c_uint64, c_uint32, c_uint64, POINTER(c_uint64), POINTER(c_int32)],
        "adm_permit_succeed": [c_void_p, c_uint64],
        "adm_permit_complete": [
            c_void_p, c_uint64, c_uint32, c_uint32, c_uint64, c_void_p, POINTER(Observation),
        ],
        "adm_route_snapshot": [c_void_p, c_uint64, POINTER(Snapshot)],
        "adm_task_new": [c_int32, POINTER(c_void_p)],
        "adm_task_record": [c_void_p, POINTER(Observation)],
        "adm_task_query": [c_void_p],
        "adm_task_detail": [c_void_p, POINTER(Detail)],
    }
    for name, types in arguments.items():
        getattr(library, name).argtypes = types
        getattr(library, name).restype = c_int32
    library.adm_task_free.argtypes = [c_void_p]
    library.adm_controller_free.argtypes = [c_void_p]
    return library


def main(path):
    # ctypes hands the environment of the process to the library as it is now.
    os.environ["MC_ADAPTIVE_CONGESTION_CONTROL_MODE"] = "enforce"
    os.environ["MC_ADAPTIVE_CC_HARD_ERROR_THRESHOLD"] = "1"
    adm = load(path)
    assert adm.adm_built() == 1
    config, controller = Config(), c_void_p()
    assert adm.adm_config_from_environment(byref(config)) == 0
    assert (config.mode, config.hard_error_threshold) == (2, 1)
    assert adm.adm_controller_new(byref(config), None, byref(controller)) == 0
    device, route, generation, permit = c_uint64(), c_uint64(), c_uint32(), c_uint64()
    assert adm.adm_device_open(controller, None, 0, 0, byref(device)) == 0
    assert adm.adm_route_open(controller, device, 1, 9, 0, byref(route), byref(generation)) == 0

    def acquire(octets):
        reason = c_int32()
        return adm.adm_try_acquire(controller, route, generation, octets, byref(permit), byref(reason)), reason.value

    assert acquire(1 << 20) == (ADMIT, 0)
    assert adm.adm_permit_succeed(controller, permit) == 0
    assert adm.adm_permit_succeed(controller, permit) == HANDLE, "twice"
    snapshot = Snapshot()
    assert adm.adm_route_snapshot(controller, route, byref(snapshot)) == 0
    assert (snapshot.in_flight, snapshot.completed, snapshot.window) == (0, 1 << 20, config.max_window)

    task, seen, detail = c_void_p(), Observation(), Detail()
    assert adm.adm_task_new(1, byref(task)) == 0
    assert adm.adm_task_query(task) == UNKNOWN
    assert acquire(1)[0] == ADMIT
    assert adm.adm_permit_complete(controller, permit, 20, 3, 5, None, byref(seen)) == 0
    assert adm.adm_task_record(task, byref(seen)) == 0
    assert adm.adm_task_query(task) == LONG_UNAVAILABLE
    assert adm.adm_task_detail(task, byref(detail)) == 0
    assert (detail.observation.path, detail.observation.status) == (route.value, 20)
    assert acquire(1) == (AVOID, 4)
    adm.adm_task_free(task)
    adm.adm_controller_free(controller)

    config.min_window = 0
    assert adm.adm_controller_new(byref(config), None, byref(controller)) == CONFIG
    assert not controller
    print("done")


main(sys.argv[1])
