"""Writes the checkpoints in this folder, with TensorFlow's and Tensorpack's own code: make.py [FOLDER]

Needs tensorflow-cpu 2.15, tensorpack, numpy < 2, python-snappy. Element i of a tensor is formula(i + length of its
name), so that the tests know the values without Python.
"""
import logging
import os
import shutil
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import snappy
import tensorflow as tf
from tensorflow.core.protobuf import saver_pb2

tf1 = tf.compat.v1
TYPES = ["float32", "float64", "int32", "int64", "uint8", "bool", "float16", "bfloat16", "int8", "int16", "uint16",
         "uint32"]


def formula(name, shape, dtype):
    n = np.arange(int(np.prod(shape)), dtype=np.int64) + len(name)
    if dtype == "bool":
        values = n % 3 == 0
    elif dtype.startswith("uint"):
        values = n % 23
    elif dtype.startswith("int"):
        values = n % 23 - 11
    else:
        values = (n % 23 - 11) * 0.25
    return values.reshape(shape).astype(tf.as_dtype(dtype).as_numpy_dtype)


def variable(name, shape, dtype="float32"):
    return tf1.get_variable(name, initializer=formula(name, shape, dtype), use_resource=False)


def partitioned(name, shape, parts, axis):
    # Each part is initialised with what belongs there of the whole.
    def initializer(shape, dtype=None, partition_info=None):
        whole = formula(name, partition_info.full_shape, "float32")
        begin = partition_info.var_offset
        return tf.constant(whole[tuple(slice(b, b + s) for b, s in zip(begin, shape))])

    return tf1.get_variable(name, shape, initializer=initializer, use_resource=False,
                            partitioner=tf1.fixed_size_partitioner(parts, axis))


def save(build, path, devices=1, step=None, **options):
    os.makedirs(os.path.dirname(path))
    with tf.Graph().as_default():
        build()
        with tf1.Session(config=tf1.ConfigProto(device_count={"CPU": devices})) as session:
            session.run(tf1.global_variables_initializer())
            saver = tf1.train.Saver(save_relative_paths=True, **options)
            saver.save(session, path, global_step=step, write_meta_graph=False)


def types():
    for dtype in TYPES:
        variable("types/" + dtype, (2, 3), dtype)
    variable("conv0/W", (3, 3, 2, 4))
    variable("scalar", ())
    variable("empty", (0, 3))
    variable("nine_axes", (1, 1, 1, 1, 1, 1, 1, 1, 2))
    tf1.get_variable("half_ends", initializer=np.array([np.inf, -np.inf, np.nan, -0.0, 2.0 ** -24, 2.0 ** -14, 65504.0],
                                                       np.float16), use_resource=False)
    tf1.get_variable("text", initializer=tf.constant([b"a", b"bcd"]), use_resource=False)
    tf1.get_variable("complex", initializer=np.array([1 + 2j], np.complex64), use_resource=False)


def two_devices():
    for i in range(4):
        with tf.device("/cpu:%d" % (i % 2)):
            variable("layer%d/W" % i, (i + 1, 5))


def parts():
    variable("whole", (3,))
    partitioned("rows", (7, 3), 3, 0)
    partitioned("columns", (2, 150), 2, 1)


def tensorflow2(path):
    module = tf.Module()
    module.kernel = tf.Variable(formula("net/kernel", (3, 4), "float32"))
    module.halves = tf.Variable(formula("net/halves", (5,), "float16"))
    module.layers = {"conv0/W": tf.Variable(formula("net/layers/conv0/W", (2, 2), "float32")),
                     "v1.5": tf.Variable(formula("net/layers/v1.5", (3,), "int32"))}
    checkpoint = tf.train.Checkpoint(net=module, steps=tf.Variable(42, dtype=tf.int64))
    checkpoint.save(path)


# One epoch of three steps. The gradient of every weight is 1 and the rate is 0.5.
def tensorpack(directory):
    import tensorpack as tp

    class Model(tp.ModelDesc):
        def inputs(self):
            return [tf.TensorSpec([None, 2], tf.float32, "x")]

        def build_graph(self, x):
            weights = tf1.get_variable("fc/W", initializer=formula("fc/W", (2, 3), "float32"))
            return tf.add(tf.reduce_sum(weights), 0.0 * tf.reduce_sum(x), name="cost")

        def optimizer(self):
            rate = tf1.get_variable("learning_rate", initializer=np.float32(0.5), trainable=False)
            return tf1.train.MomentumOptimizer(rate, 0.5)

    tp.logger.set_logger_dir(directory + ".log", "d")
    config = tp.TrainConfig(model=Model(), data=tp.FeedInput(tp.FakeData([[4, 2]], 10, random=False)),
                            callbacks=[tp.ModelSaver(checkpoint_dir=directory)], extra_callbacks=[], monitors=[],
                            steps_per_epoch=3, max_epoch=1)
    tp.launch_train_with_config(config, tp.SimpleTrainer())
    shutil.rmtree(directory + ".log")
    for name in os.listdir(directory):
        if name.startswith("graph-"):
            os.remove(os.path.join(directory, name))


# Every variable is formula(i + length of its name); variances are made positive. "scores" is what the layers make of
# formula("x").
def layers(directory):
    import tensorpack as tp

    os.makedirs(directory)
    with tf.Graph().as_default(), tp.TowerContext("", is_training=False):
        x = tf.constant(formula("x", (2, 6, 6, 2), "float32"))
        out = tp.Conv2D("conv0", x, 3, 3, activation=tp.BNReLU)
        out = tp.MaxPooling("pool0", out, 2)
        out = tp.FullyConnected("fc", out, 4)
        weights = tf1.global_variables()
        scores = tf1.get_variable("scores", (2, 4), use_resource=False)
        with tf1.Session() as session:
            for w in weights:
                value = formula(w.op.name, w.shape.as_list(), "float32")
                w.load(np.abs(value) + 0.25 if "variance" in w.name else value, session)
            scores.load(session.run(out), session)
            tf1.train.Saver(save_relative_paths=True).save(session, directory + "/model", write_meta_graph=False)


# The same index with its blocks packed by Google's snappy, as TensorFlow could write them until 1.1.
def pack_index(source, target):
    def varint(data, at):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value, at

    def to_varint(value):
        out = b""
        while value >= 128:
            out += bytes([value & 127 | 128])
            value >>= 7
        return out + bytes([value])

    table = [0] * 256
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table[byte] = crc

    def masked_crc(data):
        crc = 0xFFFFFFFF
        for byte in data:
            crc = crc >> 8 ^ table[(crc ^ byte) & 255]
        crc ^= 0xFFFFFFFF
        return ((crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF).to_bytes(4, "little")

    data, out = open(source, "rb").read(), b""

    def add(offset, size):
        nonlocal out
        block = snappy.compress(data[offset:offset + size]) + b"\1"
        handle = to_varint(len(out)) + to_varint(len(block) - 1)
        out += block + masked_crc(block)
        return handle

    about_blocks, at = varint(data, len(data) - 48)
    about_size, at = varint(data, at)
    index, at = varint(data, at)
    index_size, _ = varint(data, at)
    # The index block of a small table has one entry.
    _, at = varint(data, index)
    key, at = varint(data, at)
    _, at = varint(data, at)
    offset, at = varint(data, at + key)
    size, _ = varint(data, at)
    handle = add(offset, size)
    entry = data[index + 3:index + 3 + key] + handle
    block = b"\0" + to_varint(key) + to_varint(len(handle)) + entry + b"\0\0\0\0\1\0\0\0\0"
    places = add(about_blocks, about_size)
    places += to_varint(len(out)) + to_varint(len(block) - 1)
    out += block + masked_crc(block)
    out += places.ljust(40, b"\0") + data[-8:]
    open(target, "wb").write(out)


def main(folder):
    for name in ["tf1", "packed", "sharded", "parts", "tf2", "tensorpack", "layers", "version1"]:
        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    save(types, folder + "/tf1/model", step=7)
    os.mkdir(folder + "/packed")
    pack_index(folder + "/tf1/model-7.index", folder + "/packed/model-7.index")
    data = "/model-7.data-00000-of-00001"
    shutil.copy(folder + "/tf1" + data, folder + "/packed" + data)
    save(two_devices, folder + "/sharded/model", devices=2, sharded=True)
    save(parts, folder + "/parts/model")
    save(lambda: variable("w", (2,)), folder + "/version1/model", write_version=saver_pb2.SaverDef.V1)
    tensorflow2(folder + "/tf2/ckpt")
    with tf.Graph().as_default():
        tensorpack(folder + "/tensorpack")
    layers(folder + "/layers")


if __name__ == "__main__":
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    main(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(__file__)))
