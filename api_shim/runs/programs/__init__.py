"""The conformance workflows of OpenWOP's agent memory: each drives memory and checks what it sees."""
