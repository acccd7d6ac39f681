# numbers: the classes that models test against.
Number = (int, float, complex)
Real = (int, float)
Integral = int
Complex = complex
