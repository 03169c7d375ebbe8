"""OpenWOP's runs, agents and test seams: mounted where the settings say so, and unknown paths where not."""
