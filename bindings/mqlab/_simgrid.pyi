from typing_extensions import CapsuleType

from mqlab._core import Scenario

def fabric(scenario: Scenario) -> CapsuleType: ...
