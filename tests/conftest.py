"""What all tests share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine is no defect: what is slow is measured in bench/, and no test is timed.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
