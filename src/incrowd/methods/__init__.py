"""The methods, each in a folder with its kernels; `registry` lists them."""
