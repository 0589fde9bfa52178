"""Servers behind the proxy that send more than was asked for: whose response do other clients get?"""
