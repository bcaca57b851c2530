"""Discovers the services of a gRPC server by reflection, and calls them without
stubs or earlier descriptors.

Usage: reflect.py ADDRESS CA CERT KEY [METHOD...]     (CA "-": without TLS)

Prints a line for each service with its methods and a line for its health. Calls
each METHOD ("package.Service/Name") with an empty request, and prints the
reply or the error."""
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf import json_format

REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
HEALTH = "/grpc.health.v1.Health/Check"
SECONDS = 20
SERVING = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING"}


def file_of(name, fields):
    """Returns a file with messages NAME: {number: (label, type, type name)}."""
    file = descriptor_pb2.FileDescriptorProto(name=name, package="by_hand",
                                              syntax="proto3")
    for message, members in fields.items():
        made = file.message_type.add(name=message)
        for number, (label, kind, of) in members.items():
            made.field.add(name=f"f{number}", number=number, label=label, type=kind,
                           type_name=of and f".by_hand.{of}")
    return file


# The parts of the two protocols that this program needs. Fields are given by
# their numbers, because they have no names on the wire.
ONE, MANY, TEXT, BYTES, ENUM, SUB = 1, 3, 9, 12, 5, 11
BY_HAND = file_of("by_hand.proto", {
    "Ask": {3: (ONE, TEXT, None), 4: (ONE, TEXT, None), 7: (ONE, TEXT, None)},
    "Files": {1: (MANY, BYTES, None)},
    "Service": {1: (ONE, TEXT, None)},
    "Services": {1: (MANY, SUB, "Service")},
    "Error": {1: (ONE, ENUM, None), 2: (ONE, TEXT, None)},
    "Answer": {4: (ONE, SUB, "Files"), 6: (ONE, SUB, "Services"),
               7: (ONE, SUB, "Error")},
    "HealthAsk": {1: (ONE, TEXT, None)},
    "HealthAnswer": {1: (ONE, ENUM, None)},
})


class Pool:
    """The discovered message classes, by name."""

    def __init__(self):
        self.pool = descriptor_pool.DescriptorPool()
        self.factory = message_factory.MessageFactory(self.pool)
        self.pool.Add(BY_HAND)
        self.known = set()

    def message(self, name):
        return self.factory.GetPrototype(self.pool.FindMessageTypeByName(name))

    def service(self, name):
        return self.pool.FindServiceByName(name)


class Server:
    def __init__(self, channel):
        self.channel = channel
        self.pool = Pool()

    def reflect(self, **ask):
        call = self.channel.stream_stream(REFLECTION)
        request = self.pool.message("by_hand.Ask")(**ask).SerializeToString()
        answer, = call(iter([request]), timeout=SECONDS)
        return self.pool.message("by_hand.Answer").FromString(answer)

    def services(self):
        return [service.f1 for service in self.reflect(f7="*").f6.f1]

    def learn(self, **ask):
        """Adds a file after those that it imports. Returns false if the server
        has no description of it."""
        answer = self.reflect(**ask)
        for text in answer.f4.f1:
            file = descriptor_pb2.FileDescriptorProto.FromString(text)
            if file.name in self.pool.known:
                continue
            self.pool.known.add(file.name)
            for name in file.dependency:
                if name not in self.pool.known:
                    self.learn(f3=name)
            self.pool.pool.Add(file)
        return bool(answer.f4.f1)

    def health(self, service):
        ask = self.pool.message("by_hand.HealthAsk")(f1=service)
        try:
            answer = self.channel.unary_unary(HEALTH)(ask.SerializeToString(),
                                                      timeout=SECONDS)
        except grpc.RpcError as error:
            return error.code().name
        return SERVING.get(
            self.pool.message("by_hand.HealthAnswer").FromString(answer).f1)

    def call(self, path):
        service, name = path.split("/")
        method = self.pool.service(service).FindMethodByName(name)
        ask = self.pool.message(method.input_type.full_name)()
        answer = self.channel.unary_unary("/" + path)(ask.SerializeToString(),
                                                      timeout=SECONDS)
        return self.pool.message(method.output_type.full_name).FromString(answer)


def connect(address, ca, cert, key):
    if ca == "-":
        return grpc.insecure_channel(address)
    texts = []
    for path in (ca, key, cert):
        with open(path, "rb") as file:
            texts.append(file.read())
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(*texts))


def main(address, ca, cert, key, *methods):
    with connect(address, ca, cert, key) as channel:
        server = Server(channel)
        print("server:", server.health(""))
        print("no.such.Service:", server.health("no.such.Service"))
        try:
            services = server.services()
        except grpc.RpcError as error:
            print("no reflection:", error.code().name)
            return
        for name in services:
            known = server.learn(f4=name)
            names = [m.name for m in server.pool.service(name).methods] \
                if known else []
            print(f"{name}: {server.health(name)}", *names)
        for method in methods:
            try:
                answer = server.call(method)
            except grpc.RpcError as error:
                print(method, f"{error.code().name}: {error.details()}")
                continue
            print(method, json_format.MessageToJson(answer, indent=None))


main(*sys.argv[1:])
