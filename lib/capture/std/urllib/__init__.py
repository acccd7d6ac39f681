# urllib: parse has functions of texts; what opens addresses is outside.
