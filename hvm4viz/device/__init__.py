"""One small file a device, each with metalcompute's own few verbs."""

from hvm4viz.device.base import Buffer, Device, Function, Kernel, Way
from hvm4viz.device.lookup import DeviceInfo, devices, open_device

__all__ = ["Buffer", "Device", "DeviceInfo", "Function", "Kernel", "Way", "devices", "open_device"]
