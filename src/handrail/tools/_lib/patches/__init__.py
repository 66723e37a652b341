"""Patches as models write them: read tolerantly, understood strictly, applied by the one core."""
