"""The model, its decode, its cost and its machine; never imports streamlit.

One letter per dimension, used in every docstring and shape comment:

====  ==============================  ====  ==============================
B     sequences in the batch          L     layers (n_layers)
T     tokens in this call (n_tokens)  D     model width (d_model)
S     tokens attended to              F     MLP width (d_ff)
      (context_len)                   V     vocabulary (vocab_size)
H     query heads (n_heads)           R     rows swept through a matrix
K     key/value heads (n_kv_heads)    b     bytes per number
d     head_dim
====  ==============================  ====  ==============================
"""

__version__ = "0.1.0"
