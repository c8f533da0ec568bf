# cupola/image/__init__.py - what image files hold, read without a driver.
"""Readers of kernel images: fatbins, cubins, PTX, and libraries and wheels with any of them inside.

cupola.build uses some of the modules, also before cupola can be imported: nothing is imported here.
"""
