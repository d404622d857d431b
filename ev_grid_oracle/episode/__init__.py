"""The only composer of simulator, reward and protocol: sessions, batches, traces, replay, KPIs."""
