"""OpenWOP's memory rules, restated: one test a rule, on numbers the test has itself."""
