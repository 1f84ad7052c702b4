"""Pictures of paths, models and studies."""
