"""Streamlit pieces that pages share. Only this room, app.py and pages/ import Streamlit."""
