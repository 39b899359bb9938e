"""Generates pages and tables of the documentation from the code and from rest.yaml."""
