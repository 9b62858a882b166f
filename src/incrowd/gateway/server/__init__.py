"""The parent process, its workers, and the ASGI application."""
