"""Where a question arrives: routes, authentication, errors to statuses."""
