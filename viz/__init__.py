"""The documented commands of a checkout: gradio_demo, city_map, record_two_phase. The code is in the package."""
