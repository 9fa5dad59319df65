"""What the metrics of a hub and those of runs share; below all layers. Whoever imports it says what to install."""

from ._gauges import Gauges, Readings, meter_of

__all__ = ["Gauges", "Readings", "meter_of"]
