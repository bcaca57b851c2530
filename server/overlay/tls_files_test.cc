// Mutual TLS with certificates of an operator's own authority, which openssl
// creates. The tests show over real connections which peers are accepted.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "server/overlay/overlay_testing.h"

namespace canopy::overlay {
namespace {

constexpr char kAuthority[] = R"([ca]
default_ca = authority
[authority]
dir = .
database = $dir/index
serial = $dir/serial
new_certs_dir = $dir
private_key = $dir/ca.key
certificate = $dir/ca.pem
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[agent]
subjectAltName = IP:127.0.0.1
[stranger]
subjectAltName = IP:192.0.2.7,DNS:elsewhere.example
[only_serves]
subjectAltName = IP:127.0.0.1
extendedKeyUsage = serverAuth
[only_calls]
subjectAltName = IP:127.0.0.1
extendedKeyUsage = clientAuth
)";

class Authority {
 public:
  explicit Authority(const std::string& name)
      : directory_(testing::TempDir() + "authority-" + name) {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    Write("authority.conf", kAuthority);
    Write("index", "");
    Write("serial", "01\n");
    OpenSsl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
        "-keyout ca.key -out ca.pem -days 3650 -subj /CN=" +
        name);
  }

  // Creates a certificate from one of the sections of kAuthority.
  security::SecurityConfig Issue(const std::string& section,
                                 const std::string& end = "20991231235959Z") {
    const std::string name = section + "-" + end;
    OpenSsl("req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes " +
            ("-keyout " + name) + ".key -out " + name + ".csr -subj /CN=agent");
    OpenSsl("ca -batch -notext -config authority.conf -in " + name +
            ".csr -out " + name + ".pem -startdate 20200101000000Z -enddate " +
            end + " -extensions " + section);
    security::SecurityConfig config;
    config.mode = security::SecurityMode::kFiles;
    config.ca_path = directory_ + "/ca.pem";
    config.certificate_path = directory_ + "/" + name + ".pem";
    config.private_key_path = directory_ + "/" + name + ".key";
    return config;
  }

 private:
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ + "/" + name) << text;
  }
  void OpenSsl(const std::string& words) {
    const std::string command =
        "cd '" + directory_ + "' && openssl " + words + " 2> log";
    if (std::system(command.c_str()) == 0) return;
    std::stringstream log;
    log << std::ifstream(directory_ + "/log").rdbuf();
    ADD_FAILURE() << command << ": " << log.str();
  }

  const std::string directory_;
};

class TlsFilesTest : public testing::Test {
 protected:
  TlsFilesTest() : ours_("ours"), right_(ours_.Issue("agent")) {}

  // Starts a parent and a child with these identities.
  void Start(const security::SecurityConfig& parent,
             const security::SecurityConfig& child) {
    cluster_.Start(0, [&](OverlayConfig* c) { c->security = parent; });
    cluster_.Start(1, [&](OverlayConfig* c) { c->security = child; });
    cluster_.overlay(0).Join();
    cluster_.overlay(1).Join();
  }

  // Expects that there is no link, and that the child's first link error
  // contains `word`.
  void ExpectNoLink(const std::string& word) {
    auto& link_errors = cluster_.node(1).link_errors;
    ASSERT_TRUE(cluster_.WaitFor([&] { return !link_errors.empty(); }));
    EXPECT_NE(link_errors[0].second.message().find(word), std::string::npos)
        << link_errors[0].second.message();
    EXPECT_EQ(cluster_.node(0).ready + cluster_.node(1).ready, 0);
  }

  Authority ours_;
  const security::SecurityConfig right_;
  TestCluster cluster_{2};
};

TEST_F(TlsFilesTest, MembersWithCertificatesOfOneAuthorityLink) {
  Start(right_, ours_.Issue("agent", "20981231235959Z"));
  EXPECT_TRUE(cluster_.AllReady());
}

TEST_F(TlsFilesTest, AnExpiredParentIsRejected) {
  Start(ours_.Issue("agent", "20200102000000Z"), right_);
  ExpectNoLink("cannot be reached");
}

TEST_F(TlsFilesTest, AnExpiredChildIsRejected) {
  Start(right_, ours_.Issue("agent", "20200102000000Z"));
  ExpectNoLink("cannot be reached");
}

TEST_F(TlsFilesTest, AParentOfAnotherAuthorityIsRejected) {
  Start(Authority("theirs").Issue("agent"), right_);
  ExpectNoLink("cannot be reached");
}

// The child accepts the parent, but the parent does not accept the child.
TEST_F(TlsFilesTest, AChildOfAnotherAuthorityIsRejected) {
  security::SecurityConfig child = Authority("theirs").Issue("agent");
  child.ca_path = right_.ca_path;
  Start(right_, child);
  ExpectNoLink("cannot be reached");
}

TEST_F(TlsFilesTest, AParentMustBeTheHostThatWasDialled) {
  Start(ours_.Issue("stranger"), right_);
  ExpectNoLink("cannot be reached");
}

TEST_F(TlsFilesTest, AConfiguredServerNameIsChecked) {
  const security::SecurityConfig parent = ours_.Issue("stranger");
  security::SecurityConfig child = right_;
  child.server_name = "elsewhere.example";
  Start(parent, child);
  EXPECT_TRUE(cluster_.AllReady());
}

TEST_F(TlsFilesTest, ACertificateForClientsIsRejectedFromAParent) {
  Start(ours_.Issue("only_calls"), right_);
  ExpectNoLink("cannot be reached");
}

TEST_F(TlsFilesTest, ACertificateForServersIsRejectedFromAChild) {
  Start(right_, ours_.Issue("only_serves"));
  ExpectNoLink("cannot be reached");
}

TEST_F(TlsFilesTest, AMemberWithoutACertificateIsRejected) {
  security::SecurityConfig plain;
  plain.mode = security::SecurityMode::kPlaintext;
  Start(right_, plain);
  ExpectNoLink("cannot be reached");
}

}  // namespace
}  // namespace canopy::overlay
