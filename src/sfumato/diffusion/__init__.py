"""Noise processes over tokens and the losses that go with them: pure maths, no models."""
