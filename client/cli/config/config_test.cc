#include "client/cli/config/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>

namespace canopy::cli {
namespace {

class ConfigTest : public testing::Test {
 protected:
  ConfigTest() {
    std::string path = testing::TempDir() + "/config-XXXXXX";
    directory_ = mkdtemp(path.data());
  }

  std::string File(const std::string& name, const std::string& text) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  Result<Config> Load(const std::vector<std::string>& files) {
    return Config::Load(files, [this](const char* name) {
      const auto it = variables_.find(name);
      return it == variables_.end() ? nullptr : it->second.c_str();
    });
  }

  std::string directory_;
  std::map<std::string, std::string> variables_;
};

TEST_F(ConfigTest, LaterSourcesOverrideEarlierOnes) {
  const std::string system =
      File("system", "radix = 4\nhosts = [\"a\", \"n[1-2]\"]\n");
  const std::string own = File("own", "# mine\nradix = 8\n");
  Result<Config> config = Load({system, own});
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->at("radix").text, "8");
  EXPECT_EQ(config->at("radix").source, own + ":2");
  EXPECT_EQ(config->at("hosts").text, "a,n[1-2]");
  EXPECT_EQ(config->at("hosts").source, system + ":2");
  variables_["CANOPY_RADIX"] = "16";
  config = Load({system, own});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->Number("radix", 0), 16u);
  EXPECT_EQ(config->at("radix").source, "CANOPY_RADIX");
}

TEST_F(ConfigTest, DefaultsApplyIfNoFileExists) {
  const Result<Config> config = Load({directory_ + "/none"});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->at("radix").text, "32");
  EXPECT_EQ(config->at("radix").source, "default");
  EXPECT_FALSE(config->is_set("radix"));
  EXPECT_EQ(config->Number("radix", 0), 0u);
  EXPECT_EQ(config->Text("launch-agent"), "");
}

TEST_F(ConfigTest, DurationsAreNumbersOrTexts) {
  const Result<Config> config =
      Load({File("own", "up-timeout = \"2m\"\nloss-timeout = 1.5\n")});
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->Duration("up-timeout", {}), std::chrono::minutes(2));
  EXPECT_EQ(config->Duration("loss-timeout", {}),
            std::chrono::milliseconds(1500));
}

TEST_F(ConfigTest, ErrorsNameFileAndLine) {
  const std::string path = directory_ + "/own";
  const auto error = [&](const std::string& text) {
    return Load({File("own", text)}).status().message();
  };
  EXPECT_EQ(error("\nradius = 4\n"),
            path +
                ":2: unknown key 'radius'; did you mean 'radix'? ('canopy "
                "config' lists the keys)");
  EXPECT_EQ(error("radix = \"many\"\n"),
            path + ":1: 'radix' needs a number from 2 to 65536, not 'many'");
  EXPECT_EQ(error("radix = true\n"), path + ":1: 'radix' needs a number");
  EXPECT_EQ(error("launch-agent = 3\n"),
            path + ":1: 'launch-agent' needs a text");
  EXPECT_EQ(error("output = \"xml\"\n"),
            path + ":1: 'output' needs one of text, json, not 'xml'");
  EXPECT_TRUE(error("radix = \n").starts_with(path + ":1: "));
  EXPECT_TRUE(error("[up]\nradix = 4\n").starts_with(path + ":1: "));
}

TEST_F(ConfigTest, ErrorsNameTheVariable) {
  variables_["CANOPY_RADIX"] = "1";
  EXPECT_EQ(Load({}).status().message(),
            "CANOPY_RADIX needs a number from 2 to 65536, not '1'");
}

TEST_F(ConfigTest, TheUsersFileIsBelowTheHomeDirectory) {
  std::map<std::string, std::string> set = {{"HOME", "/home/ada"}};
  const auto environment = [&set](const char* name) {
    const auto it = set.find(name);
    return it == set.end() ? nullptr : it->second.c_str();
  };
  EXPECT_EQ(Config::Files(environment),
            (std::vector<std::string>{"/etc/canopy/canopy.toml",
                                      "/home/ada/.config/canopy/canopy.toml"}));
  set["XDG_CONFIG_HOME"] = "/c";
  EXPECT_EQ(Config::Files(environment)[1], "/c/canopy/canopy.toml");
}

}  // namespace
}  // namespace canopy::cli
