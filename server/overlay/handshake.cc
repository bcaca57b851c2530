#include "server/overlay/handshake.h"

#include <algorithm>

namespace canopy::overlay {
namespace {

constexpr size_t kNonceBytes = 32;

void AppendNumber(std::string* out, uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(value >> shift));
  }
}

// Returns the text that a proof authenticates. Fixed widths and explicit
// lengths make it different for any two different handshakes.
std::string Transcript(const std::string& role, const Hello& hello,
                       const Welcome& welcome) {
  std::string text = "canopy overlay link\n" + role + "\n";
  for (const std::string& part :
       {hello.nonce, welcome.nonce, hello.overlay_id}) {
    AppendNumber(&text, part.size());
    text += part;
  }
  for (const uint64_t number :
       {uint64_t{hello.node}, uint64_t{welcome.node}, hello.incarnation,
        welcome.incarnation, uint64_t{hello.version},
        uint64_t{hello.oldest_version}, uint64_t{welcome.version}}) {
    AppendNumber(&text, number);
  }
  return text;
}

std::string ProofOf(const Identity& self, const std::string& role,
                    const Hello& hello, const Welcome& welcome) {
  if (!self.key.has_value()) return {};
  return self.key->Hmac(Transcript(role, hello, welcome));
}

std::string Versions(uint32_t oldest, uint32_t newest) {
  if (oldest == newest) return std::to_string(newest);
  return std::to_string(oldest) + " to " + std::to_string(newest);
}

StreamEnd WrongVersion(const Identity& self, const std::string& name,
                       uint32_t oldest, uint32_t newest) {
  return {kEndRefused, name + " speaks overlay protocol version " +
                           Versions(oldest, newest) + ", " + self.name +
                           " speaks " +
                           Versions(self.oldest_version, self.version)};
}

}  // namespace

StreamEnd KeyDiffers(const std::string& name) {
  return {kEndWrongKey, "cluster key differs from that of " + name};
}

Hello MakeHello(const Identity& self, const ResumePoint& resume) {
  Hello hello;
  hello.version = self.version;
  hello.oldest_version = self.oldest_version;
  hello.node = self.self;
  hello.node_name = self.name;
  hello.incarnation = self.incarnation;
  hello.overlay_id = self.overlay_id;
  hello.nonce = security::RandomBytes(kNonceBytes);
  hello.received = resume.received;
  hello.address = self.address;
  hello.peer_incarnation = resume.peer_incarnation;
  hello.recovered = self.recovered;
  return hello;
}

StreamEnd CheckHello(const Identity& self, const Hello& hello) {
  if (hello.overlay_id != self.overlay_id) {
    return {kEndRefused, self.name + " belongs to another overlay"};
  }
  if (hello.version < self.oldest_version ||
      hello.oldest_version > self.version) {
    return WrongVersion(self, hello.node_name, hello.oldest_version,
                        hello.version);
  }
  // The record of a new member may still be on its way to this agent.
  if (hello.node >= self.members && hello.node < kMaxMembers) {
    return {kEndUnavailable, self.name + " does not know node " +
                                 std::to_string(hello.node) + " yet"};
  }
  // Members with larger numbers always dial those with smaller numbers.
  if (hello.node >= self.members || hello.node <= self.self ||
      hello.incarnation == 0 || hello.nonce.size() != kNonceBytes) {
    return {kEndRefused, hello.node_name + " claims to be node " +
                             std::to_string(hello.node) + " of " +
                             std::to_string(self.members) +
                             ", which cannot be below " + self.name};
  }
  return {};
}

Welcome MakeWelcome(const Identity& self, const Hello& hello,
                    const ResumePoint& resume) {
  Welcome welcome;
  welcome.version = std::min(self.version, hello.version);
  welcome.node = self.self;
  welcome.node_name = self.name;
  welcome.incarnation = self.incarnation;
  welcome.nonce = security::RandomBytes(kNonceBytes);
  welcome.received = resume.received;
  welcome.peer_incarnation = resume.peer_incarnation;
  welcome.recovered = self.recovered;
  welcome.proof = ProofOf(self, "parent", hello, welcome);
  return welcome;
}

StreamEnd CheckWelcome(const Identity& self, const Hello& hello,
                       const Welcome& welcome, NodeId expected,
                       const std::string& name) {
  if (self.key.has_value() &&
      (welcome.nonce.size() != kNonceBytes ||
       !security::EqualInConstantTime(
           welcome.proof, ProofOf(self, "parent", hello, welcome)))) {
    return KeyDiffers(name);
  }
  if (welcome.version < self.oldest_version || welcome.version > self.version) {
    return WrongVersion(self, name, welcome.version, welcome.version);
  }
  if (welcome.node != expected || welcome.incarnation == 0) {
    return {kEndRefused, "the agent at the address of " + name + " is " +
                             welcome.node_name + ", node " +
                             std::to_string(welcome.node) + ", not node " +
                             std::to_string(expected)};
  }
  return {};
}

Proof MakeProof(const Identity& self, const Hello& hello,
                const Welcome& welcome) {
  return {ProofOf(self, "child", hello, welcome)};
}

StreamEnd CheckProof(const Identity& self, const Hello& hello,
                     const Welcome& welcome, const Proof& proof) {
  if (self.key.has_value() &&
      !security::EqualInConstantTime(proof.proof,
                                     ProofOf(self, "child", hello, welcome))) {
    return KeyDiffers(self.name);
  }
  return {};
}

}  // namespace canopy::overlay
