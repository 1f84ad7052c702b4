"""Ranking, ordinal and conjoint models whose whole regularisation path comes out in one call.

The models stand on `pqp`, which traces their solution paths. They are under construction: this
package holds no model yet.
"""
