"""Names of arguments in the schemas of operators."""

import keyword
from collections.abc import Iterable

_TAKEN = {  # by arguments that are no inputs, and by words of the language of schemas
    *("variant", "options", "grads", "final", "initial", "saved", "cu_seqlens"),
    *("states", "state_indices", "report", "layout", "intermediate_states", "states_every"),
    *("initial_state", "dfinal_state"),
    *keyword.kwlist,
}


def argument_names(names: Iterable[str]) -> list[str]:
    """The names as arguments of a schema, which differ from each other and from what the schema has beside them."""
    arguments: list[str] = []
    for name in names:
        argument = name
        while argument in _TAKEN or argument in arguments:
            argument += "_"
        arguments.append(argument)
    return arguments
