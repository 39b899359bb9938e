"""Pages and tables of the documentation that are made from the code and from rest.yaml."""
