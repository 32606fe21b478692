# Makes keras_net.npz, tensorflow1_net.npz and their *_run.npz, which tests/session/keras_weights_test.cc compares Belfry
# with: the weights of small networks, and what they compute from fixed inputs. Needs TensorFlow 2.15:
#   python tests/python/make_keras_net.py
import pathlib

import numpy
import tensorflow as tf
from tensorflow.keras import layers

folder = pathlib.Path(__file__).parent
random = numpy.random.default_rng(4)


def drawn(shape, name):
    return random.uniform(0.5, 2, shape) if "variance" in name else random.uniform(-0.6, 0.6, shape)


def keras_net():
    image = tf.keras.Input((6, 4, 2))
    x = layers.Conv2D(4, 3, padding="same", name="conv")(image)
    x = layers.BatchNormalization(name="norm")(x)
    x = layers.ReLU()(x)
    x = layers.DepthwiseConv2D(3, depth_multiplier=2, padding="same", name="depthwise")(x)
    x = layers.SeparableConv2D(4, 3, depth_multiplier=2, padding="same", name="separable")(x)
    x = layers.PReLU(shared_axes=[1, 2], name="prelu")(x)
    x = layers.MaxPooling2D(2)(x)
    x = layers.Conv2DTranspose(4, 3, strides=2, padding="same", name="up")(x)
    x = layers.AveragePooling2D(2)(x)
    seen = layers.Dense(5, activation="relu", name="fc1")(layers.Flatten()(x))

    ids = tf.keras.Input((5,), dtype="int32")
    words = layers.Embedding(7, 4, name="words")(ids)
    x = layers.LSTM(3, return_sequences=True, name="lstm")(words)
    x = layers.GRU(4, return_sequences=True, name="gru")(x)
    x = layers.Conv1D(4, 3, padding="same", name="conv1d")(x)
    x = x + layers.MultiHeadAttention(2, 2, name="attention")(x, x)
    x = layers.LayerNormalization(name="layer_norm")(x)
    read = layers.GlobalAveragePooling1D()(x)
    return tf.keras.Model([image, ids], layers.Dense(3, name="fc2")(layers.Concatenate()([seen, read])))


net = keras_net()
for weight in net.weights:
    weight.assign(drawn(weight.shape, weight.name))
image, ids = random.random((3, 6, 4, 2), numpy.float32), random.integers(7, size=(3, 5), dtype=numpy.int32)
numpy.savez_compressed(folder / "keras_net.npz", **{w.name: w.numpy() for w in net.weights})
numpy.savez_compressed(folder / "keras_net_run.npz", image=image, ids=ids, output=net([image, ids]).numpy())

with tf.Graph().as_default():
    v1 = tf.compat.v1
    x = random.random((3, 5, 2), numpy.float32)
    cells = v1.nn.rnn_cell.MultiRNNCell([v1.nn.rnn_cell.LSTMCell(4), v1.nn.rnn_cell.BasicLSTMCell(3)])
    output, _ = v1.nn.dynamic_rnn(cells, x, dtype=tf.float32)
    with v1.Session() as session:
        for weight in v1.global_variables():
            weight.load(drawn(weight.shape, weight.name), session)
        weights = {w.name: w.eval(session) for w in v1.global_variables()}
        numpy.savez_compressed(folder / "tensorflow1_net.npz", **weights)
        numpy.savez_compressed(folder / "tensorflow1_net_run.npz", x=x, output=output.eval(session=session))
