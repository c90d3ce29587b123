"""A file system that forgets, when its power is cut, what was not synced.

It is served from this process, by FUSE. A file keeps the content that it had when it was last synced; a folder keeps the names that it had when
it was last synced. So a file that was synced in a folder that was not is gone, and a name that was synced of a file that was not is empty.
:meth:`Device.image` is what a cut leaves: that alone, or, with numbers to choose by, any part of what was written since.

Only other processes may use the mounted folder: this one answers them.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import random
import shutil
import socket
import stat
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

PAGE = 4096
WRITE_BYTES = 1 << 20
#: How long the kernel keeps names and attributes, in seconds: nothing changes them but what it asks for.
VALID = 86_400
ROOT = 1

ENTRY = struct.Struct("<QQQQII")
ATTRIBUTES = struct.Struct("<6Q10I")
HEADER = struct.Struct("<IIQQIIIHH")

LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass
class Node:
    """A file, a folder or a symbolic link."""

    number: int
    mode: int
    owner: tuple[int, int]
    place: str
    links: int = 1
    times: list[float] = field(default_factory=lambda: [time.time()] * 3)
    data: bytearray = field(default_factory=bytearray)
    #: The content as it was last synced.
    synced: bytes = b""
    names: dict[str, Node] = field(default_factory=dict)
    #: The names as they were last synced.
    synced_names: dict[str, Node] = field(default_factory=dict)

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)


#: A tree of what a cut leaves: folders are dictionaries, files are bytes.
Image = dict[str, "bytes | Image"]


class Failure(OSError):
    """What the kernel is told."""

    def __init__(self, code: int) -> None:
        super().__init__(code, os.strerror(code))


class Device:
    """The file system, mounted at a folder until :meth:`close`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.Lock()
        self.nodes: dict[int, Node] = {}
        self.root = self._node(stat.S_IFDIR | 0o777, (os.getuid(), os.getgid()), "")
        #: What was done, in order: a verb, and the paths that it was done to.
        self.events: list[tuple[str, ...]] = []
        #: Called before each change, with its number from 0 on.
        self.on_change: Callable[[int], None] | None = None
        #: Paths of which this is true are not synced: the disk fails.
        self.fails_to_sync: Callable[[str], bool] = lambda _: False
        #: Faults of this file system itself, which a test looks at in the end.
        self.faults: list[Exception] = []
        folder.mkdir(parents=True, exist_ok=True)
        self.channel = _mount(folder)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Unmounts it."""
        if LIBC.umount2(str(self.folder).encode(), 2) != 0:
            subprocess.run(["fusermount3", "-u", "-z", "--", self.folder], check=False)
        self.thread.join(timeout=10)
        os.close(self.channel)

    def image(self, numbers: random.Random | None = None) -> Image:
        """What a cut leaves now. Without numbers, nothing that was not synced."""
        with self.lock:
            return self._image(self.root, numbers)

    def sync_all(self) -> None:
        """Puts all of it on the disk, as the system does in time."""
        with self.lock:
            for node in self.nodes.values():
                node.synced, node.synced_names = bytes(node.data), dict(node.names)

    def _image(self, folder: Node, numbers: random.Random | None) -> Image:
        left: Image = {}
        for name in sorted({*folder.names, *folder.synced_names}):
            node = folder.synced_names.get(name)
            if numbers is not None and numbers.random() < 0.5:
                node = folder.names.get(name)
            if node is not None and node.is_folder:
                left[name] = self._image(node, numbers)
            elif node is not None and stat.S_ISREG(node.mode):
                left[name] = _content(node, numbers)
        return left

    def _node(self, mode: int, owner: tuple[int, int], place: str) -> Node:
        node = Node(len(self.nodes) + ROOT, mode, owner, place)
        self.nodes[node.number] = node
        return node

    def _changed(self, verb: str, *places: str) -> None:
        if self.on_change is not None:
            self.on_change(len(self.events))
        self.events.append((verb, *places))

    def _serve(self) -> None:
        while True:
            try:
                request = os.read(self.channel, WRITE_BYTES + PAGE)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
                    continue
                return
            _, code, unique, number, uid, gid, *_ = HEADER.unpack_from(request)
            body = request[HEADER.size :]
            verb = VERBS.get(code)
            if code in NO_ANSWER:
                continue
            answer, failure = b"", 0
            try:
                if verb is None:
                    raise Failure(errno.ENOSYS)
                with self.lock:
                    answer = verb(self, self.nodes.get(number, self.root), body, (uid, gid))
            except Failure as error:
                failure = error.errno or errno.EIO
            except Exception as fault:  # Without an answer, the process that waits for it hangs.
                self.faults.append(fault)
                failure = errno.EIO
            with contextlib.suppress(FileNotFoundError):
                os.write(self.channel, struct.pack("<IiQ", 16 + len(answer), -failure, unique) + answer)

    # What the kernel asks for, by its names.

    def init(self, _: Node, body: bytes, __: tuple[int, int]) -> bytes:
        _, _, ahead, offered = struct.unpack_from("<4I", body)
        async_read, big_writes, max_pages = 1, 1 << 5, 1 << 22
        flags = offered & (async_read | big_writes | max_pages)
        return struct.pack("<4I2H2I2H32x", 7, 31, ahead, flags, 16, 12, WRITE_BYTES, 1, WRITE_BYTES // PAGE, 0)

    def lookup(self, folder: Node, body: bytes, _: tuple[int, int]) -> bytes:
        return _entry(_child(folder, _text(body)))

    def getattr(self, node: Node, _: bytes, __: tuple[int, int]) -> bytes:
        return struct.pack("<QII", VALID, 0, 0) + _attributes(node)

    def setattr(self, node: Node, body: bytes, _: tuple[int, int]) -> bytes:
        valid, _, _, size, _, atime, mtime, _, atime_ns, mtime_ns, _, mode, _, uid, gid, _ = struct.unpack_from(
            "<II6Q8I", body
        )
        if valid & 8:
            self._changed("truncate", node.place)
            del node.data[size:]
            node.data.extend(bytes(size - len(node.data)))
        if valid & 1:
            node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)
        node.owner = (uid if valid & 2 else node.owner[0], gid if valid & 4 else node.owner[1])
        if valid & (16 | 128):
            node.times[0] = time.time() if valid & 128 else atime + atime_ns / 1e9
        if valid & (32 | 256):
            node.times[1] = time.time() if valid & 256 else mtime + mtime_ns / 1e9
        return self.getattr(node, b"", (0, 0))

    def _make(self, folder: Node, name: str, mode: int, owner: tuple[int, int], verb: str) -> Node:
        if name in folder.names:
            raise Failure(errno.EEXIST)
        place = f"{folder.place}/{name}"
        self._changed(verb, place)
        node = self._node(mode, owner, place)
        folder.names[name] = node
        return node

    def mkdir(self, folder: Node, body: bytes, owner: tuple[int, int]) -> bytes:
        mode, umask = struct.unpack_from("<II", body)
        return _entry(self._make(folder, _text(body[8:]), stat.S_IFDIR | mode & ~umask, owner, "mkdir"))

    def mknod(self, folder: Node, body: bytes, owner: tuple[int, int]) -> bytes:
        mode, _, umask, _ = struct.unpack_from("<4I", body)
        return _entry(self._make(folder, _text(body[16:]), mode & ~umask, owner, "create"))

    def create(self, folder: Node, body: bytes, owner: tuple[int, int]) -> bytes:
        _, mode, umask, _ = struct.unpack_from("<4I", body)
        node = self._make(folder, _text(body[16:]), stat.S_IFREG | stat.S_IMODE(mode) & ~umask, owner, "create")
        return _entry(node) + self.open(node, b"", owner)

    def symlink(self, folder: Node, body: bytes, owner: tuple[int, int]) -> bytes:
        name, target = (part.decode() for part in body.split(b"\0")[:2])
        node = self._make(folder, name, stat.S_IFLNK | 0o777, owner, "symlink")
        node.data = bytearray(target.encode())
        return _entry(node)

    def readlink(self, node: Node, _: bytes, __: tuple[int, int]) -> bytes:
        return bytes(node.data)

    def unlink(self, folder: Node, body: bytes, _: tuple[int, int]) -> bytes:
        name = _text(body)
        node = _child(folder, name)
        if node.is_folder:
            raise Failure(errno.EISDIR)
        self._changed("unlink", f"{folder.place}/{name}")
        del folder.names[name]
        node.links -= 1
        return b""

    def rmdir(self, folder: Node, body: bytes, _: tuple[int, int]) -> bytes:
        name = _text(body)
        node = _child(folder, name)
        if not node.is_folder:
            raise Failure(errno.ENOTDIR)
        if node.names:
            raise Failure(errno.ENOTEMPTY)
        self._changed("rmdir", f"{folder.place}/{name}")
        del folder.names[name]
        node.links = 0
        return b""

    def rename(self, folder: Node, body: bytes, _: tuple[int, int]) -> bytes:
        return self._rename(folder, struct.unpack_from("<Q", body)[0], 0, body[8:])

    def rename2(self, folder: Node, body: bytes, _: tuple[int, int]) -> bytes:
        target, flags, _ = struct.unpack_from("<QII", body)
        return self._rename(folder, target, flags, body[16:])

    def _rename(self, folder: Node, number: int, flags: int, names: bytes) -> bytes:
        old, new = (name.decode() for name in names.split(b"\0")[:2])
        target = self.nodes[number]
        node, replaced = _child(folder, old), target.names.get(new)
        no_replace, exchange = flags & 1, flags & 2
        if no_replace and replaced is not None:
            raise Failure(errno.EEXIST)
        if exchange and replaced is None:
            raise Failure(errno.ENOENT)
        if not exchange and replaced is not None and replaced.is_folder and replaced.names:
            raise Failure(errno.ENOTEMPTY)
        places = (f"{folder.place}/{old}", f"{target.place}/{new}")
        self._changed("exchange" if exchange else "rename", *places)
        del folder.names[old]
        target.names[new] = node
        _move(node, places[1])
        if replaced is not None and exchange:
            folder.names[old] = replaced
            _move(replaced, places[0])
        elif replaced is not None:
            replaced.links -= 1
        return b""

    def link(self, folder: Node, body: bytes, _: tuple[int, int]) -> bytes:
        node, name = self.nodes[struct.unpack_from("<Q", body)[0]], _text(body[8:])
        if name in folder.names:
            raise Failure(errno.EEXIST)
        self._changed("link", node.place, f"{folder.place}/{name}")
        folder.names[name] = node
        node.links += 1
        return _entry(node)

    def open(self, _: Node, __: bytes, ___: tuple[int, int]) -> bytes:
        keep_cache = 2
        return struct.pack("<QII", 0, keep_cache, 0)

    def read(self, node: Node, body: bytes, _: tuple[int, int]) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        return bytes(node.data[offset : offset + size])

    def write(self, node: Node, body: bytes, _: tuple[int, int]) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        self._changed("write", node.place)
        node.data.extend(bytes(max(0, offset - len(node.data))))
        node.data[offset : offset + size] = body[40 : 40 + size]
        node.times[1] = time.time()
        return struct.pack("<II", size, 0)

    def fallocate(self, node: Node, body: bytes, _: tuple[int, int]) -> bytes:
        _, offset, length, mode, _ = struct.unpack_from("<QQQII", body)
        if mode & ~1:
            raise Failure(errno.EOPNOTSUPP)
        self._changed("write", node.place)
        if not mode:
            node.data.extend(bytes(max(0, offset + length - len(node.data))))
        return b""

    def statfs(self, _: Node, __: bytes, ___: tuple[int, int]) -> bytes:
        return struct.pack("<5Q3I28x", 1 << 24, 1 << 23, 1 << 23, 1 << 20, 1 << 19, PAGE, 255, PAGE)

    def fsync(self, node: Node, _: bytes, __: tuple[int, int]) -> bytes:
        self._changed("fsync", node.place)
        if self.fails_to_sync(node.place):
            raise Failure(errno.EIO)
        node.synced = bytes(node.data)
        return b""

    def fsyncdir(self, node: Node, _: bytes, __: tuple[int, int]) -> bytes:
        self._changed("fsyncdir", node.place)
        if self.fails_to_sync(node.place):
            raise Failure(errno.EIO)
        node.synced_names = dict(node.names)
        return b""

    def readdir(self, folder: Node, body: bytes, _: tuple[int, int]) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        listed = bytearray()
        for number, (name, node) in enumerate(list(folder.names.items())[offset:], offset + 1):
            encoded = name.encode()
            length = 24 + len(encoded)
            if len(listed) + (length + 7) // 8 * 8 > size:
                break
            listed += struct.pack("<QQII", node.number, number, len(encoded), stat.S_IFMT(node.mode) >> 12) + encoded
            listed += bytes(-length % 8)
        return bytes(listed)

    def nothing(self, _: Node, __: bytes, ___: tuple[int, int]) -> bytes:
        return b""


Verb = Callable[[Device, Node, bytes, tuple[int, int]], bytes]

#: By the kernel's numbers. Others are not known here, which the kernel takes for "as usual".
VERBS: dict[int, Verb] = {
    1: Device.lookup,
    3: Device.getattr,
    4: Device.setattr,
    5: Device.readlink,
    6: Device.symlink,
    8: Device.mknod,
    9: Device.mkdir,
    10: Device.unlink,
    11: Device.rmdir,
    12: Device.rename,
    13: Device.link,
    14: Device.open,
    15: Device.read,
    16: Device.write,
    17: Device.statfs,
    18: Device.nothing,
    20: Device.fsync,
    26: Device.init,
    27: Device.open,
    28: Device.readdir,
    29: Device.nothing,
    30: Device.fsyncdir,
    35: Device.create,
    43: Device.fallocate,
    45: Device.rename2,
}
#: Numbers that are to be forgotten, and requests that are to be given up.
NO_ANSWER = (2, 36, 42)


def write_image(image: Image, folder: Path) -> Path:
    """Writes what a cut has left to a new folder of an ordinary file system."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, left in image.items():
        if isinstance(left, dict):
            write_image(left, folder / name)
        else:
            (folder / name).write_bytes(left)
    return folder


@contextlib.contextmanager
def mounted(folder: Path) -> Iterator[Device]:
    """A device for a while."""
    device = Device(folder)
    try:
        yield device
    finally:
        device.close()


def _content(node: Node, numbers: random.Random | None) -> bytes:
    if numbers is None or node.synced == node.data:
        return node.synced
    length = numbers.choice([len(node.synced), len(node.data)])
    left = bytearray(length)
    for start in range(0, length, PAGE):
        kept = numbers.choice([node.synced, node.data])[start : min(start + PAGE, length)]
        left[start : start + len(kept)] = kept
    return bytes(left)


def _move(node: Node, place: str) -> None:
    node.place = place
    for name, child in node.names.items():
        _move(child, f"{place}/{name}")


def _text(body: bytes) -> str:
    return body.split(b"\0", 1)[0].decode()


def _child(folder: Node, name: str) -> Node:
    if name not in folder.names:
        raise Failure(errno.ENOENT)
    return folder.names[name]


def _attributes(node: Node) -> bytes:
    size = len(node.data)
    seconds = [int(moment) for moment in node.times]
    nanos = [int(moment % 1 * 1e9) for moment in node.times]
    links = 2 if node.is_folder and node.links else node.links
    return ATTRIBUTES.pack(
        node.number, size, (size + 511) // 512, *seconds, *nanos, node.mode, links, *node.owner, 0, PAGE, 0
    )


def _entry(node: Node) -> bytes:
    return ENTRY.pack(node.number, 0, VALID, VALID, 0, 0) + _attributes(node)


def _mount(folder: Path) -> int:
    """Mounts at a folder, as root or by the program that does it for others; gives the channel to the kernel."""
    channel = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={channel},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    nosuid, nodev = 2, 4
    if LIBC.mount(b"powercut", str(folder).encode(), b"fuse", nosuid | nodev, options.encode()) == 0:
        return channel
    os.close(channel)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        variables = {**os.environ, "_FUSE_COMMFD": str(theirs.fileno())}
        subprocess.run(["fusermount3", "--", folder], env=variables, pass_fds=[theirs.fileno()], check=True)
        _, channels, _, _ = socket.recv_fds(ours, 1, 1)
        return channels[0]
