By0J
VŒ‘sÀIQt‡x