"""Methods of users: templates, and checks of their declarations."""
