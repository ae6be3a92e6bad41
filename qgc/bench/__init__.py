"""`qgc bench`: what compiling and launching cost, in one run of one machine."""
