"""Methods of users: begun, and held to what they say of themselves."""
