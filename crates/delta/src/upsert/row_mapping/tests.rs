use super::*;

fn refusal(declared: &[&str], given: &[&str]) -> Option<String> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    check_declared_key(&owned(declared), &owned(given)).err().map(|error| error.to_string())
}

#[test]
fn another_key_than_the_declared_one_is_refused_with_what_to_give() {
    for (declared, given) in [(&[][..], &["a"][..]), (&["a"], &["a"]), (&["a", "b"], &["b", "a"])] {
        assert_eq!(refusal(declared, given), None);
    }
    for (declared, given, own) in [(&["id"][..], &["ID"][..], "id"), (&["id", "Code"], &["code", "id"], "id,Code")] {
        let advice = format!("spell the key as the table does: `key={own}`");
        let found = refusal(declared, given).unwrap_or_default();
        assert!(found.contains(&advice), "{found}");
    }
    for (declared, given) in [(&["id"][..], &["id", "code"][..]), (&["id", "code"], &["ID"]), (&["id"], &["code"])] {
        let found = refusal(declared, given).unwrap_or_default();
        let (declared, given) = (declared.join(","), given.join(","));
        let alter = format!("`lakerace alter TABLE --set {KEY_PROPERTY}={given}`");
        let advice = format!("use the table's key: `key={declared}`; or give the table this one: {alter}");
        assert!(found.contains(&advice), "{found}");
    }
}
